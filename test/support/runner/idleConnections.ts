/** How long `fetch` keeps a connection that it does not use; the gateway announces eight seconds. */
const KEPT_MS = 3_000
/** Where Node.js and the package undici look for the agent of `fetch`. */
const AGENT = Symbol.for('undici.globalDispatcher.1')

type Agents = Record<symbol, { readonly constructor: new (options: object) => object } | undefined>

/**
 * Has `fetch` close unused connections well before servers do. A test process that stands still for two seconds would send its next
 * request on a connection that the gateway is closing, and no client repeats a request that may have been served.
 */
export async function closeUnusedEarly(): Promise<void> {
  // The agent is made with the first request.
  await fetch('data:,')
  const agents = globalThis as unknown as Agents
  const usual = agents[AGENT]
  if (usual === undefined) throw new Error('the agent of fetch is elsewhere')
  Object.assign(globalThis, { [AGENT]: new usual.constructor({ keepAliveMaxTimeout: KEPT_MS }) })
}
