// Watches the browser's position as long as the page is open, whichever part of it is shown.

import { isVisit, type Fix } from "./recording";

export class Recorder {
  on = $state(false);
  refused = $state("");
  readonly #keep: (visit: Fix) => void;
  #watch = 0;
  /** Outlives a stop: who starts again at the same place is not there twice. */
  #last: Fix | undefined;

  constructor(keep: (visit: Fix) => void) {
    this.#keep = keep;
  }

  start(): void {
    this.refused = "";
    this.on = true;
    this.#watch = navigator.geolocation.watchPosition(
      ({ coords, timestamp }) => {
        const { latitude, longitude, accuracy } = coords;
        const fix = { latitude, longitude, accuracyM: accuracy, atMs: timestamp };
        if (!isVisit(fix, this.#last)) return;
        this.#last = fix;
        this.#keep(fix);
      },
      (error) => {
        this.stop();
        this.refused =
          error.code === error.PERMISSION_DENIED
            ? "The browser does not give this page your position. You can allow it in the site’s settings."
            : "The browser could not find your position.";
      },
      { enableHighAccuracy: false, maximumAge: 60_000 },
    );
  }

  stop(): void {
    if (this.on) navigator.geolocation.clearWatch(this.#watch);
    this.on = false;
  }

  /** After what was recorded was removed: the next position is a visit again. */
  forget(): void {
    this.#last = undefined;
  }
}
