/** How a request ended, as its receipt says. Of these, `ok` and `partial` are charged. */
export type ReceiptStatus = 'ok' | 'partial' | 'failed' | 'cut' | 'orphaned'
