/** Gauges whose values one read of the book or of Redis has. */
export interface GaugeGroup<Name extends string = string> {
  /** The meaning of each gauge, by its name without the prefix of control. */
  readonly help: Readonly<Record<Name, string>>
  /** @throws errors of the server that is read; the gauges keep their last values then */
  read(): Promise<Readonly<Record<Name, number>>>
}

interface LabelledFamily {
  /** Without the prefix of control. */
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  read(): Iterable<{ readonly labels: Readonly<Record<string, string>>; readonly count: number }>
}

/** A total with labels that a part counts since the process began. Its labels have closed sets of values. */
export type LabelledTotal = LabelledFamily

/** Values that a part knows without reading a server, of few series at a time. */
export type LabelledGauge = LabelledFamily

/** Has the compiler compare the names that are described with those that are read. */
export function gaugeGroup<Name extends string>(
  help: Readonly<Record<Name, string>>,
  read: () => Promise<Readonly<Record<NoInfer<Name>, number>>>,
): GaugeGroup {
  return { help, read }
}
