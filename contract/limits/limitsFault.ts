/**
 * What is wrong with SLUICE_LIMITS, in a line; undefined when nothing is. Whatever imports `limits.ts` first fails with
 * a stack trace on bad ones, so a program that speaks to people asks here before it imports its parts.
 */
export async function limitsFault(): Promise<string | undefined> {
  try {
    await import('./limits.ts')
    return undefined
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return message.startsWith('SLUICE_LIMITS') ? message : `SLUICE_LIMITS is not valid JSON: ${message}`
  }
}
