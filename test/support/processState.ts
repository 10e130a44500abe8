import { setTimeout as sleep } from 'node:timers/promises'

/** Replaces the whole environment of this process. */
export function replaceEnvironment(environment: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name]
  Object.assign(process.env, environment)
}

/**
 * What this process has open. Connections that are being closed need a moment, so that it is waited for until nothing is left.
 * @param own what it has without any work, by the names of Node.js
 */
export async function leftOpen(own: ReadonlySet<string>, waitMs: number, pollMs: number): Promise<string[]> {
  const deadlineMs = Date.now() + waitMs
  for (;;) {
    const open = process.getActiveResourcesInfo().filter((resource) => !own.has(resource))
    if (open.length === 0 || Date.now() > deadlineMs) return open
    await sleep(pollMs)
  }
}
