/** The status of a request on its receipt. Of these, `ok` and `partial` are charged. */
export type ReceiptStatus = 'ok' | 'partial' | 'failed' | 'cut' | 'orphaned'

/** The error code on the receipt of a request whose client disconnected before its answer was whole. */
export const CLIENT_GONE = 'client_gone'
