import { mount } from "svelte";
import "../shared/styles.css";
import { pageRoot } from "../shared/root";
import { connect } from "./client";
import Join from "./Join.svelte";
import { workOffline } from "./offline";
import { Take } from "./take.svelte";

const worker = new Worker(new URL("./worker/worker.ts", import.meta.url), { type: "module" });
const take = new Take((happened) => connect(worker, happened));

mount(Join, { target: pageRoot(), props: { take } });
void take.begin().then(workOffline);
