// A map may be left at any moment; what Leaflet 1.9 does later must then find nothing to do, or a map to do it on.

import * as L from "leaflet";

/** The part of Leaflet's canvas that its types leave out. */
interface Drawing {
  _ctx?: CanvasRenderingContext2D;
  _redraw(): void;
}

const leaflets = L.Canvas.prototype as unknown as Drawing;

/**
 * Leaflet's canvas, but a frame that comes after the map has gone draws nothing.
 *
 * Leaflet forgets a frame that it asked for when it draws in the meantime, as it does whenever the map is moved or fitted. That
 * frame is then not called off with the map, and would draw on a canvas that is no more.
 */
export const RemovableCanvas = L.Canvas.extend({
  _redraw(this: Drawing) {
    if (this._ctx) leaflets._redraw.call(this);
  },
}) as unknown as new (options: L.RendererOptions) => L.Canvas;

/** Remove a map; one that is zooming when that has ended, because its end is set by a clock and needs the map. */
export function removeMap(map: L.Map): void {
  const zooming = map.getPane("mapPane")?.classList.contains("leaflet-zoom-anim");
  if (zooming) map.once("zoomend", () => setTimeout(() => map.remove()));
  else map.remove();
}
