// The places that an operator asks a panel for, as picked so far.

import type { LatLon } from "../../core/area/plane";
import type { AreaShape } from "../../core/wire/area";
import { cellAt } from "../../shared/cells";
import { cellsOf, setOf, toggled, type PickedPlaces } from "../wizard/picked_places";

export class AskedPlaces implements PickedPlaces {
  fields = $state({ spots: [] as LatLon[] });
  shape: AreaShape | undefined = $state.raw();
  readonly located = $derived.by(() => {
    const shape = this.shape;
    return this.fields.spots.map((spot) => (shape ? cellAt(shape, spot) : undefined));
  });
  readonly targets = $derived(cellsOf(this.located));
  readonly targetSet: ReadonlySet<number> = $derived(setOf(this.targets));

  toggle(cell: number): void {
    this.fields.spots = toggled(this, cell);
  }
}
