/** A limit of requests or tokens a minute, or of requests in flight, when a request was refused. */
export interface LimitFigure {
  /** Whose limit it is, in the words of errors. */
  readonly subject: string
  readonly check: 'requests_per_minute' | 'tokens_per_minute' | 'requests_in_flight'
  readonly limit: number
  /** Null where it is not known. */
  readonly used: number | null
  /** It is the one that refused the request. */
  readonly isMet: boolean
}

/**
 * The figures of the checks that refused a request. Clients do not see them with the error; they are kept for a while for those who
 * ask why. Amounts are units.
 */
export interface RefusalFigures {
  /** The check that refused; absent where the error says it. */
  readonly refusedBy?: string
  /** Of the catalog. */
  readonly model?: string
  readonly endpoint?: string
  readonly sheetVersion?: number
  /** The worst case, and the least that has to be held. */
  readonly wantUnits?: number
  readonly leastUnits?: number
  /** Tokens of prompt and answer at worst, by which the worst case is priced. */
  readonly tokensMax?: number
  /** Units in one coin. */
  readonly coinUsdUnits?: number
  /** Units a million tokens: those of the model, and the most that the request allows. */
  readonly prices?: {
    readonly input: number
    readonly output: number
    readonly maxInput: number | null
    readonly maxOutput: number | null
  }
  /** Of the model: the routes that are enabled, those that the request may use, and those of them that can be asked. */
  readonly routes?: { readonly enabled: number; readonly allowed: number; readonly open: number }
  readonly limits?: readonly LimitFigure[]
}
