/**
 * The address under which clients reach the gateway, without a trailing slash.
 * @param publicUrl the configured address; when it is empty, the client's Host header counts
 */
export function ownAddress(publicUrl: string, host: string): string {
  return publicUrl === '' ? `http://${cleanHost(host)}` : publicUrl
}

/** A host is put into headers and into addresses, so only what a host can be is. */
function cleanHost(host: string): string {
  return /^[\w.:[\]-]{1,255}$/.test(host) ? host : 'localhost'
}
