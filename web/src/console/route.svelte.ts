// Where in the console we are.

import { readRoute } from "./route";

class Place {
  current = $state(readRoute(location.hash));

  constructor() {
    addEventListener("hashchange", () => {
      this.current = readRoute(location.hash);
      scrollTo(0, 0);
    });
  }
}

export const place = new Place();
