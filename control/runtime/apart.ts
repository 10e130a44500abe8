/**
 * Works on rows one after the other; a row that fails does not block the rows after it.
 * @param signal after which no other row is begun
 * @param endsAll tells errors after which no other row is tried
 * @throws the first error, after the last row; immediately when it ends all
 */
export async function apart<T>(
  rows: Iterable<T> | AsyncIterable<T>,
  work: (row: T) => Promise<unknown>,
  signal?: AbortSignal,
  endsAll: (error: unknown) => boolean = () => false,
): Promise<void> {
  let failure: { readonly error: unknown } | undefined
  for await (const row of rows) {
    if (signal?.aborted === true) break
    try {
      await work(row)
    } catch (error) {
      if (endsAll(error)) throw error
      failure ??= { error }
    }
  }
  if (failure !== undefined) throw failure.error
}
