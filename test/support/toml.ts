// Reads the TOML of packages: tables, dotted keys, basic strings, numbers, booleans, and arrays on
// one row. Anything else is an error. https://toml.io/en/v1.0.0

export interface Table {
  [key: string]: Table | string | number | boolean | readonly string[];
}

export function parseToml(text: string): Table {
  const root: Table = {};
  let table = root;
  for (const [at, row] of text.split('\n').entries()) {
    const content = row.trim();
    if (content === '' || content.startsWith('#')) continue;
    const [, name] = /^\[([\w.-]+)\]$/.exec(content) ?? [];
    const [, key = '', value = ''] = /^([\w.-]+) = (.+)$/.exec(content) ?? [];
    if (name !== undefined) table = tableAt(root, name.split('.'));
    else if (key !== '') set(table, key.split('.'), JSON.parse(value));
    else throw new Error(`row ${at + 1} is no TOML that this reads: ${content}`);
  }
  return root;
}

function tableAt(from: Table, path: readonly string[]): Table {
  let table = from;
  for (const name of path) {
    table[name] ??= {};
    table = table[name] as Table;
  }
  return table;
}

function set(from: Table, path: readonly string[], value: Table[string]): void {
  const table = tableAt(from, path.slice(0, -1));
  const name = path.at(-1) ?? '';
  if (Object.hasOwn(table, name)) throw new Error(`${path.join('.')} is set twice`);
  table[name] = value;
}
