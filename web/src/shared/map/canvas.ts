// What cells are drawn on.

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
 * Leaflet 1.9 forgets a frame that it asked for when it draws in the meantime, as it does whenever the map is moved or fitted.
 * That frame is then not called off with the map, and would draw on a canvas that is no more.
 */
const LeavableCanvas = L.Canvas.extend({
  _redraw(this: Drawing) {
    if (this._ctx) leaflets._redraw.call(this);
  },
}) as unknown as new (options: L.RendererOptions) => L.Canvas;

/** A canvas for the cells of one map. */
export function cellCanvas(): L.Canvas {
  return new LeavableCanvas({ padding: 0.3 });
}
