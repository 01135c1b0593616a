// Which texts were seen before, kept as 64-bit hashes in one array: two million texts themselves would take a phone's memory.
//
// Two different texts with the same hash would count as one. Among two million that has a chance of 2^41 / 2^64, about one in
// ten million, and would cost one visit.

const FIRST_SLOTS = 1 << 12;

export class SeenTexts {
  /** Pairs of 32-bit halves; a pair of zeros is a free slot. */
  private slots = new Uint32Array(2 * FIRST_SLOTS);
  private count = 0;

  /** Whether the text is new; from then on it is not. */
  add(text: string): boolean {
    const [high, low] = hash(text);
    if (!place(this.slots, high, low)) return false;
    this.count += 1;
    if (4 * this.count > this.slots.length) this.grow();
    return true;
  }

  private grow(): void {
    const larger = new Uint32Array(2 * this.slots.length);
    for (let i = 0; i < this.slots.length; i += 2) {
      const [high, low] = [this.slots[i] as number, this.slots[i + 1] as number];
      if (high !== 0 || low !== 0) place(larger, high, low);
    }
    this.slots = larger;
  }
}

/** Put a pair into its slot or the next free one; false if it is there already. */
function place(slots: Uint32Array, high: number, low: number): boolean {
  const mask = slots.length / 2 - 1;
  for (let slot = low & mask; ; slot = (slot + 1) & mask) {
    const [h, l] = [slots[2 * slot] as number, slots[2 * slot + 1] as number];
    if (h === high && l === low) return false;
    if (h === 0 && l === 0) {
      slots[2 * slot] = high;
      slots[2 * slot + 1] = low;
      return true;
    }
  }
}

/** Two multiplicative hashes, mixed into each other at the end; never a pair of zeros. */
function hash(text: string): [number, number] {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x9e3779b1);
    b = Math.imul(b ^ unit, 0x5f356495);
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35);
  b = Math.imul(b ^ (b >>> 16), 0x85ebca6b) ^ Math.imul(a ^ (a >>> 13), 0xc2b2ae35);
  return [a >>> 0, (b >>> 0) || 1];
}
