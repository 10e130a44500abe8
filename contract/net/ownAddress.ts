/**
 * The address under which clients reach the gateway, without a trailing slash.
 * @param publicUrl the configured address; when it is empty, the client's Host header counts
 */
export function ownAddress(publicUrl: string, host: string): string {
  return publicUrl === '' ? `http://${cleanHost(host)}` : publicUrl
}

/** Validates a host, because it is put into headers and addresses. */
function cleanHost(host: string): string {
  return /^[\w.:[\]-]{1,255}$/.test(host) ? host : 'localhost'
}
