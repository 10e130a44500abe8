/** Requests that are open at a time. */
export const CONCURRENT = 16

/** Sends requests to proxies by turns, a few at a time. @returns the replies in the order of their arrival */
export async function byTurns<Reply>(
  urls: readonly string[],
  count: number,
  send: (url: string, index: number) => Promise<Reply>,
): Promise<Reply[]> {
  const replies: Reply[] = []
  let next = 0
  const one = async (): Promise<void> => {
    while (next < count) {
      const index = next++
      replies.push(await send(urls[index % urls.length] ?? '', index))
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT }, one))
  return replies
}
