// A thread that goes on sending bodies: what `workerData` says, each to its path, over and over. It tells of every answer.
import { parentPort, workerData } from 'node:worker_threads'

export interface SentBody {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

async function sendForEver({ url, headers, text }: SentBody): Promise<never> {
  const body = Buffer.from(text)
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body }
  for (;;) {
    parentPort?.postMessage(`${new URL(url).pathname} ${await statusOf(url, init)}`)
  }
}

/** A body that takes too long, on a machine that is busy, has its connection closed: what `fetch` makes of it is `closed`. */
async function statusOf(url: string, init: RequestInit): Promise<string> {
  try {
    const answer = await fetch(url, init)
    await answer.arrayBuffer()
    return String(answer.status)
  } catch {
    return 'closed'
  }
}

await Promise.all((workerData as readonly SentBody[]).map(sendForEver))
