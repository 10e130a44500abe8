/** How large JSON may be by what it holds. */
export interface JsonBounds {
  readonly depthMax: number
  /** Members of all objects together. */
  readonly membersMax: number
  /** Elements of all arrays together. */
  readonly elementsMax: number
}

/** Why bytes are not taken for JSON: they stop too early, are none, or break a bound. */
export type JsonFaultKind = 'incomplete' | 'invalid' | 'deep' | 'members' | 'elements' | 'name'

/** Bytes that are not taken for JSON. */
export class JsonFault extends Error {
  readonly kind: JsonFaultKind
  /** The byte where it was noticed. */
  readonly position: number

  constructor(kind: JsonFaultKind, position: number) {
    super(`${kind} JSON at position ${position}`)
    this.kind = kind
    this.position = position
  }
}
