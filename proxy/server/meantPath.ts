const BATCHES = 'batch jobs are submitted to POST /v1/chat/completions with "batch": true, and read at /v1/batches/{id}'
const NO_RESPONSES = 'no responses are stored: send the history in the input of POST /v1/responses'

/** Paths of other providers' APIs that their clients call, and what this gateway has instead; a slash ends a prefix. */
const INSTEAD: readonly (readonly [path: string, hint: string])[] = [
  ['/v1/batches', BATCHES],
  ['/v1/files', `no files are stored; ${BATCHES}`],
  ['/v1/files/', `no files are stored; ${BATCHES}`],
  ['/v1/messages/batches', BATCHES],
  ['/v1/messages/batches/', BATCHES],
  ['/v1/responses/', NO_RESPONSES],
  ['/v1/conversations', NO_RESPONSES],
  ['/v1/conversations/', NO_RESPONSES],
  ['/v1/chat/completions/', 'no completions are stored; GET /v1/receipts/{id} has the receipt of a request'],
  ['/v1/videos', 'use /v1/videos/generations'],
]

/**
 * The path that a client of an unknown path probably looks for. Clients use base URLs with and without /v1 and with a slash at
 * the end, call what is not paid per request under /x402, and know the APIs of other providers.
 * @param isServed whether there is such a path
 * @returns the end of the sentence "There is no GET /path; ..."
 */
export function hintFor(path: string, isServed: (path: string) => boolean): string {
  const single = path.replace(/\/{2,}/g, '/')
  const meant = [single, single.startsWith('/v1/v1/') ? single.slice(3) : `/v1${single}`].find(isServed)
  if (meant !== undefined) return `use ${meant}`
  if (path.startsWith('/x402/') && isServed(path.slice(5))) {
    return `it is not paid per request: use ${path.slice(5)}, see /llms.txt for its credential`
  }
  const known = INSTEAD.find(([one]) => (one.endsWith('/') ? path.startsWith(one) : path === one))
  return known?.[1] ?? 'see /llms.txt for what is served'
}
