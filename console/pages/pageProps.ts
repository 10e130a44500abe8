export interface PageProps {
  /** The id of the thing that the page shows, from its address. */
  readonly id: string
}
