// What the visitor's system prefers; follows when it changes.

import { MediaQuery } from "svelte/reactivity";

export const dark = new MediaQuery("(prefers-color-scheme: dark)", false);
export const calm = new MediaQuery("(prefers-reduced-motion: reduce)", false);
