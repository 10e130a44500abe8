import { randomInt } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

// Below the range that systems take for outgoing connections: such a connection could otherwise take the port of a
// server while it restarts.
const FIRST_PORT = 20_000
const PORTS_END = 32_768
const ATTEMPTS_MAX = 200

/**
 * A folder in which concurrent test processes record each port once, set by the runner of the tests: a port that is only free
 * because its server is restarting is then not given to another process.
 */
const NOTES_VARIABLE = 'SLUICE_PORT_NOTES'

/** The code of the system's error, such as EADDRINUSE, when this process cannot listen on a TCP port of `host`; else undefined. */
export function portFault(port: number, host = '127.0.0.1'): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', ({ code, message }: NodeJS.ErrnoException) => resolve(code ?? message))
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}

/**
 * A TCP port of this machine that is free now, for servers that have to keep theirs over a restart.
 * @param wanted taken when it is free
 */
export async function freePort(wanted = 0): Promise<number> {
  if (wanted !== 0 && (await portFault(wanted)) === undefined) return wanted
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const port = randomInt(FIRST_PORT, PORTS_END)
    if (isFirstToNote(port) && (await portFault(port)) === undefined) return port
  }
  throw new Error(`no free port was found between ${FIRST_PORT} and ${PORTS_END}`)
}

function isFirstToNote(port: number): boolean {
  const folder = process.env[NOTES_VARIABLE]
  if (folder === undefined) return true
  try {
    writeFileSync(join(folder, String(port)), '', { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
