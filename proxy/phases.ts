/** The phases that may follow each phase of an object, in one table for all objects of its kind. */
export type PhaseTable<Phase extends string> = Readonly<Record<Phase, readonly Phase[]>>

/** The gateway itself took an object where it cannot go. */
export class PhaseFault extends Error {
  constructor(what: string, from: string, to: string) {
    super(`${what} that is ${from} cannot be ${to} next`)
  }
}

/**
 * @param what the kind of object, for the message: `a request`
 * @throws PhaseFault where `to` cannot follow `from`
 */
export function assertNext<Phase extends string>(table: PhaseTable<Phase>, what: string, from: Phase, to: Phase): void {
  // A loop is inlined where it is called, unlike a search.
  for (const next of table[from]) if (next === to) return
  throw new PhaseFault(what, from, to)
}
