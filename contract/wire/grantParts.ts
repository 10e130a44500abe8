/** Units that were taken from one grant. */
export interface GrantPart {
  readonly grantId: string
  readonly units: number
}

/** Parses the parts of grants as the scripts write them: `grantId=units,...`; '' for none. */
export function parseGrants(text: string): GrantPart[] {
  if (text === '') return []
  return text.split(',').map((part) => {
    const [grantId = '', units] = part.split('=')
    return { grantId, units: Number(units) }
  })
}
