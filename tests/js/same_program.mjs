/**
 * Whether two scripts are the same program but for the names of what each keeps to itself.
 *
 *     node same_program.mjs FOLDER     compares each FOLDER/<name>.js with FOLDER/<name>.short.js
 *
 * Members, imports, exports and globals must have the same names in both. A variable may have another, the same one in
 * all of the file, and only where a scope around makes it known.
 */

import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";

import { parse } from "acorn";

const UNIMPORTANT = new Set(["start", "end", "raw", "shorthand"]);

/** Where a name stands that others know: it may not change. */
const KNOWN_TO_OTHERS = {
  MemberExpression: "property",
  Property: "key",
  MethodDefinition: "key",
  PropertyDefinition: "key",
  ImportSpecifier: "imported",
  ExportSpecifier: "exported",
};

/** @returns {any[]} the identifiers that a pattern binds */
function boundBy(pattern) {
  if (!pattern) return [];
  if (pattern.type === "Identifier") return [pattern];
  if (pattern.type === "ObjectPattern")
    return pattern.properties.flatMap((each) => boundBy(each.value ?? each.argument));
  if (pattern.type === "ArrayPattern") return pattern.elements.flatMap(boundBy);
  return boundBy(pattern.left ?? pattern.argument ?? null);
}

function declaredBy(statement) {
  if (statement?.type === "VariableDeclaration")
    return statement.declarations.flatMap((each) => boundBy(each.id));
  return statement?.id ? [statement.id] : [];
}

/** @returns {string[]} the names that a node makes known to what is inside it */
function scopeOf(node) {
  const statements = Array.isArray(node.body) ? node.body : [];
  const own = [
    ...(node.params ?? []).flatMap(boundBy),
    ...boundBy(node.param ?? null),
    ...(/^(Class|Function)/.test(node.type) ? boundBy(node.id) : []),
    ...declaredBy(node.init),
    ...declaredBy(node.type.startsWith("For") ? node.left : null),
    ...statements.flatMap((each) => declaredBy(each.declaration ?? each)),
    ...statements.flatMap((each) => (each.specifiers ?? []).flatMap((one) => boundBy(one.local ?? null))),
  ];
  return own.map((identifier) => identifier.name);
}

function compare(one, other, known) {
  if (one === null || typeof one !== "object") {
    if (one !== other) throw new Error(`${one} became ${other}`);
    return;
  }
  if (one.type !== other?.type) throw new Error(`${one.type} became ${other?.type}`);
  if (one.type === "Identifier" || one.type === "PrivateIdentifier") return compareNames(one, other, known);
  if (one.type === "ExportNamedDeclaration") compareExports(one, other);
  const scopes = one.type ? [...known.scopes, new Set(scopeOf(one))] : known.scopes;
  for (const key of Object.keys(one).filter((each) => !UNIMPORTANT.has(each))) {
    const isFixed = KNOWN_TO_OTHERS[one.type] === key && !one.computed;
    compare(one[key], other[key], { ...known, scopes, isFixed });
  }
}

function compareExports(one, other) {
  const names = [one, other].map((each) => declaredBy(each.declaration).map(({ name }) => name));
  if (names[0].join() !== names[1].join()) throw new Error(`${names[0]} is exported as ${names[1]}`);
}

function compareNames(one, other, { isFixed, scopes, renamed }) {
  const isChanged = one.name !== other.name;
  if (one.type === "Identifier" && isFixed) {
    if (isChanged) throw new Error(`others know ${one.name}, which became ${other.name}`);
    return;
  }
  if (one.type === "Identifier" && isChanged && !scopes.some((scope) => scope.has(one.name)))
    throw new Error(`${one.name} is not made here`);
  const [key, value] = [`${one.type} ${one.name}`, `${one.type} ${other.name}`];
  if ((renamed.to.get(key) ?? value) !== value || (renamed.from.get(value) ?? key) !== key)
    throw new Error(`${one.name} became ${other.name}, and not alone or not always`);
  renamed.to.set(key, value);
  renamed.from.set(value, key);
}

const folder = process.argv[2];
for (const name of readdirSync(folder).filter((each) => each.endsWith(".short.js"))) {
  const [before, after] = [name.replace(".short", ""), name].map((each) =>
    parse(readFileSync(path.join(folder, each), "utf8"), { ecmaVersion: "latest", sourceType: "module" }),
  );
  try {
    compare(before, after, { isFixed: false, scopes: [], renamed: { to: new Map(), from: new Map() } });
  } catch (error) {
    console.error(`${name}: ${error.message}`);
    process.exitCode = 1;
  }
}
