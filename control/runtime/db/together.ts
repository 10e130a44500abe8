/**
 * Waits for statements that were given to one transaction without waiting in between, or for reads that share its moment.
 * @param statements in the order in which they were given
 * @throws the error of the first that failed, by which those after it fail as well, whoever hears of it first
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
