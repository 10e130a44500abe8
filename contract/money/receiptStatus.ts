/** The status of a request on its receipt. Of these, `ok` and `partial` are charged. */
export type ReceiptStatus = 'ok' | 'partial' | 'failed' | 'cut' | 'orphaned'
