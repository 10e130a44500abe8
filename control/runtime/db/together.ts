/**
 * Waits for statements that are pipelined in one transaction, or for reads that share its snapshot.
 * @param statements in the order in which they were sent
 * @throws the error of the first statement that failed: the later ones fail because of it, even if their rejections arrive
 *   earlier
 */
export async function together<T extends readonly unknown[]>(
  statements: readonly [...{ [Place in keyof T]: Promise<T[Place]> }],
): Promise<T> {
  const results = await Promise.allSettled<unknown>(statements)
  const values = results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
  return values as unknown as T
}
