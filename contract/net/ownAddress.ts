/**
 * The address of the gateway as clients know it, without a slash at its end.
 * @param publicUrl what the operator has said; empty takes what the client says in Host
 */
export function ownAddress(publicUrl: string, host: string): string {
  return publicUrl === '' ? `http://${cleanHost(host)}` : publicUrl
}

/** A host is put into headers and into addresses, so only what a host can be is. */
function cleanHost(host: string): string {
  return /^[\w.:[\]-]{1,255}$/.test(host) ? host : 'localhost'
}
