/** JSON in which strings of the form "{name}" are replaced by members of a tool's input. */
export type Template = unknown

const PLACE = /^\{([A-Za-z_][A-Za-z0-9_]*)\}$/

/** The names of the members that a template takes from the input. */
export function placesOf(template: Template): string[] {
  if (typeof template === 'string') {
    const name = PLACE.exec(template)?.[1]
    return name === undefined ? [] : [name]
  }
  if (typeof template !== 'object' || template === null) return []
  return Object.values(template).flatMap(placesOf)
}

/** A template filled with the members of an input; members that the input lacks are left out with their names. */
export function fillTemplate(template: Template, input: Readonly<Record<string, unknown>>): unknown {
  if (typeof template === 'string') {
    const name = PLACE.exec(template)?.[1]
    if (name === undefined) return template
    return Object.hasOwn(input, name) ? input[name] : undefined
  }
  if (Array.isArray(template)) return template.map((item: unknown) => fillTemplate(item, input))
  if (typeof template !== 'object' || template === null) return template
  const filled = Object.entries(template).map(([name, value]) => [name, fillTemplate(value, input)] as const)
  return Object.fromEntries(filled.filter(([, value]) => value !== undefined))
}
