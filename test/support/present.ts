/** The item at `index`. @throws RangeError when the list has none there */
export function itemOf<Item>(list: ArrayLike<Item>, index: number): Item {
  const item = list[index]
  if (item === undefined) throw new RangeError(`no item at ${index} of ${list.length}`)
  return item
}

/** The member `name`. @throws RangeError when the object has none */
export function memberOf<Value>(object: Readonly<Record<string, Value>>, name: string): Value {
  const value = object[name]
  if (value === undefined) throw new RangeError(`no member ${name}`)
  return value
}

/** The value. @throws RangeError when there is none */
export function present<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new RangeError('the value is missing')
  return value
}
