// One line, so that no other part of the worker has a reason to import this file: WebKit evaluates the file that a worker was
// started with a second time when another part imports it (vite.config.ts refuses to build that).

import "./calls";
