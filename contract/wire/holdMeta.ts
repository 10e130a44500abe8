/** The part of a request that its hold records, for the receipt of a request whose proxy died. */
export interface HoldMeta {
  readonly model: string
  readonly endpoint: string
  readonly sheetVersion: number
  readonly streamed: boolean
}

/**
 * The last field of a hold in Redis; see lua/README.md.
 * @param meta a model with any name; the endpoint has no comma
 */
export function encodeHoldMeta({ model, endpoint, sheetVersion, streamed }: HoldMeta): string {
  return `${model},${endpoint},${sheetVersion},${streamed ? 1 : 0}`
}

/**
 * Parses the output of `encodeHoldMeta`. It never throws, because an unreadable hold could never be voided: a text of
 * another form is taken for the model's name.
 */
export function decodeHoldMeta(text: string): HoldMeta {
  // From the end, because the name of a model may have commas.
  const parts = text.split(',')
  const [endpoint = '', sheetVersion = '', streamed = ''] = parts.slice(-3)
  if (parts.length < 4) return { model: text, endpoint: '', sheetVersion: 0, streamed: false }
  return {
    model: parts.slice(0, -3).join(','),
    endpoint,
    sheetVersion: Number(sheetVersion),
    streamed: streamed === '1',
  }
}
