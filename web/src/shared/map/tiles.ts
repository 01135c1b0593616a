// Map tiles, where the server's operator named a tile server; otherwise there is none, and nothing leaves this host.

import * as L from "leaflet";

/** The address of a tile server, or undefined. */
export function tileUrl(): string | undefined {
  return document.querySelector<HTMLMetaElement>('meta[name="crowdveil-tiles"]')?.content || undefined;
}

/** Lay tiles under a map. */
export function addTiles(map: L.Map, url: string): void {
  const host = url.split("/")[2]?.replace("{s}.", "") ?? "";
  const credit = host.endsWith("openstreetmap.org") ? "© OpenStreetMap contributors" : `Map: ${host}`;
  map.attributionControl.setPrefix(false);
  L.tileLayer(url, { maxZoom: 19, attribution: credit }).addTo(map);
}
