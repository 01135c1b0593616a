// Lines of latitude and longitude below a map that has no tiles, so that it is not a map of nowhere.

import type { Map as LeafletMap } from "leaflet";

const SVG = "http://www.w3.org/2000/svg";
const MIN_PX = 90;
/** Between two lines of the same kind. */

/** Draw the lines now and whenever the map moves. */
export function addGraticule(map: LeafletMap): void {
  const lines = layer(map, "crowdveil-lines");
  const labels = layer(map, "crowdveil-labels");
  const draw = () => {
    const size = map.getSize();
    const bounds = map.getBounds();
    if (!size.x || !size.y) return;
    const step = niceStep(((bounds.getEast() - bounds.getWest()) / size.x) * MIN_PX);
    const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const path: string[] = [];
    const texts: SVGElement[] = [];
    for (const longitude of multiples(bounds.getWest(), bounds.getEast(), step)) {
      const x = Math.round(map.latLngToContainerPoint([bounds.getCenter().lat, longitude]).x) + 0.5;
      path.push(`M${x} 0V${size.y}`);
      if (x > 60 && x < size.x - 30) texts.push(text(x, 13, degrees(aroundTheWorld(longitude), decimals, "E", "W"), "middle"));
    }
    for (const latitude of multiples(bounds.getSouth(), bounds.getNorth(), step)) {
      const y = Math.round(map.latLngToContainerPoint([latitude, bounds.getCenter().lng]).y) + 0.5;
      path.push(`M0 ${y}H${size.x}`);
      if (y > 30 && y < size.y - 30) texts.push(text(size.x - 5, y - 4, degrees(latitude, decimals, "N", "S"), "end"));
    }
    const drawn = document.createElementNS(SVG, "path");
    drawn.setAttribute("d", path.join(""));
    lines.replaceChildren(drawn);
    labels.replaceChildren(...texts);
  };
  map.on("move zoom viewreset resize", draw);
  map.whenReady(draw);
}

function layer(map: LeafletMap, name: string): SVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", name);
  svg.setAttribute("aria-hidden", "true");
  map.getContainer().prepend(svg);
  return svg;
}

function text(x: number, y: number, content: string, anchor: string): SVGElement {
  const made = document.createElementNS(SVG, "text");
  made.setAttribute("x", String(x));
  made.setAttribute("y", String(y));
  made.setAttribute("text-anchor", anchor);
  made.textContent = content;
  return made;
}

function* multiples(from: number, to: number, step: number): Generator<number> {
  for (let index = Math.ceil(from / step); index * step <= to; index++) yield index * step;
}

function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((one) => one * power >= least) ?? 10) * power;
}

/** Beyond 180° east lies the west. */
function aroundTheWorld(longitude: number): number {
  return longitude - 360 * Math.round(longitude / 360);
}

function degrees(value: number, decimals: number, positive: string, negative: string): string {
  return `${Math.abs(value).toFixed(decimals)}° ${value < 0 ? negative : positive}`;
}
