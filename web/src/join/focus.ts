/** Move the focus, and with it a screen reader, to where the page went on. */
export function focused(element: HTMLElement): void {
  element.focus({ preventScroll: true });
  scrollTo({ top: 0 });
}
