import { mount } from "svelte";
import "../shared/styles.css";
import { workOffline } from "./offline";
import { Participation } from "./participation.svelte";
import { connectWorker } from "./worker_client";
import { pageRoot } from "../shared/root";
import Join from "./Join.svelte";

const worker = new Worker(new URL("./worker/worker.ts", import.meta.url), { type: "module" });
const participation = new Participation((onEvent) => connectWorker(worker, onEvent));

mount(Join, { target: pageRoot(), props: { participation } });
void participation.begin().then(workOffline);
