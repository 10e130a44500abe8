export interface PageProps {
  /** What the page is about, from its address. */
  readonly id: string
}
