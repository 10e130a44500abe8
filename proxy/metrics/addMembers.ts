/** Adds the numbers in `more` to those in `sum`, member by member, and copies those that it does not have. */
export function addMembers(sum: object, more: object): void {
  for (const [name, value] of Object.entries(more) as [string, number | object][]) {
    const before: unknown = Reflect.get(sum, name)
    if (typeof value === 'number') Reflect.set(sum, name, (typeof before === 'number' ? before : 0) + value)
    else if (typeof before === 'object' && before !== null) addMembers(before, value)
    else Reflect.set(sum, name, structuredClone(value))
  }
}
