import { mount } from "svelte";
import "../shared/styles.css";
import { pageRoot } from "../shared/root";
import App from "./App.svelte";

mount(App, { target: pageRoot() });
