/** The element that a page's component is mounted into. */
export function pageRoot(): HTMLElement {
  const root = document.getElementById("app");
  if (root === null) throw new Error("the page has no element with the id 'app'");
  return root;
}
