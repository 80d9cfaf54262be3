// Runs before the author's code: sets the clock, the chance and the globals of the scope, and gives back the
// functions that the engine and the templates use.
(function (now, random, globals) {
  const RealDate = Date;
  const { stringify, parse } = JSON;
  const { isFinite } = Number;
  const functionText = Function.prototype.toString;
  const [promise, map, set] = [Promise, Map, Set];

  const frozen = function (...parts) {
    if (new.target === undefined) return new RealDate(now).toString();
    return Reflect.construct(RealDate, parts.length === 0 ? [now] : parts, new.target);
  };
  const hidden = (value) => ({ value, writable: true, configurable: true, enumerable: false });
  Object.defineProperties(frozen, {
    name: { value: "Date" },
    length: { value: 7 },
    prototype: { value: RealDate.prototype, writable: false },
    now: hidden(() => now),
    parse: hidden(RealDate.parse),
    UTC: hidden(RealDate.UTC),
  });
  Object.defineProperty(RealDate.prototype, "constructor", hidden(frozen));
  Object.defineProperty(globalThis, "Date", hidden(frozen));
  Object.defineProperty(Math, "random", hidden(random));
  for (const name of Object.keys(globals)) {
    Object.defineProperty(globalThis, name, { ...hidden(globals[name]), enumerable: true });
  }

  const problem = (value) => {
    if (typeof value === "function") return "a function";
    if (typeof value === "symbol") return "a symbol";
    if (typeof value === "bigint") return "a BigInt; use Number(…) or String(…)";
    if (typeof value === "number" && !isFinite(value)) return `the number ${value}`;
    if (value instanceof promise) return "a promise; nothing is awaited here";
    if (value instanceof map) return "a Map; use Object.fromEntries(…)";
    if (value instanceof set) return "a Set; use Array.from(…)";
    return undefined;
  };
  // The text of a value as JSON, or an array with what it holds that JSON cannot.
  const json = (value) => {
    let found;
    const check = (key, inner) => {
      const what = problem(inner);
      if (what === undefined) return inner;
      found ??= key === "" ? what : `${what} (in \`${key}\`)`;
      throw found;
    };
    try {
      return stringify(value, check) ?? "null";
    } catch (error) {
      if (found !== undefined) return [found];
      if (error instanceof TypeError && error.message === "circular reference") return ["itself"];
      throw error;
    }
  };
  const asJson = (value) => {
    const text = json(value);
    if (typeof text === "string") return text;
    throw new TypeError(`the value for a \${…} is or holds ${text[0]}, which cannot be written`);
  };
  const asText = (value) => (typeof value === "string" ? value : asJson(value));

  const numeric = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;
  const isNumber = (value) => typeof value === "number" || (typeof value === "string" && numeric.test(value));
  const isMissing = (value) => value === undefined || value === null;
  const order = {
    "===": (left, right) => left === right,
    "!==": (left, right) => left !== right,
    ">=": (left, right) => left >= right,
    "<=": (left, right) => left <= right,
    ">": (left, right) => left > right,
    "<": (left, right) => left < right,
  };
  order["=="] = order["==="];
  order["!="] = order["!=="];
  const compare = (left, sign, right) => {
    if (isMissing(left) || isMissing(right)) {
      const same = isMissing(left) && isMissing(right);
      return sign.startsWith("=") ? same : sign.startsWith("!") && !same;
    }
    const values = isNumber(left) && isNumber(right) ? [Number(left), Number(right)] : [asText(left), asText(right)];
    return order[sign](values[0], values[1]);
  };

  return {
    json,
    defines: (source, value) => source.includes(functionText.call(value)),
    template: {
      compare,
      text: asText,
      json: asJson,
      quoted: (value) => stringify(asText(value)).slice(1, -1),
      parse,
    },
  };
})
