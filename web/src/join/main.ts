import { mount } from "svelte";
import { pageRoot } from "../shared/root";
import Join from "./Join.svelte";

mount(Join, { target: pageRoot() });
