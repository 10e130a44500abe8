import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 50

/**
 * Waits until the proxy reports at /ready that it serves requests.
 * @returns undefined when it does, else its last answer
 */
export async function waitReady(baseUrl: string, timeoutMs: number): Promise<string | undefined> {
  const deadlineMs = Date.now() + timeoutMs
  for (;;) {
    const said = await askReady(baseUrl)
    if (said === undefined || Date.now() > deadlineMs) return said
    await sleep(POLL_MS)
  }
}

async function askReady(baseUrl: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${baseUrl}/ready`)
    const text = await response.text()
    return response.ok ? undefined : text
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
