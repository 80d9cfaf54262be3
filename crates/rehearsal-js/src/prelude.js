// Runs before the author's code: sets the clock, the chance and the globals of the scope, and gives back the
// functions that the engine and the templates use.
(function (now, random, globals) {
  const RealDate = Date;
  const { stringify, parse } = JSON;
  const { isFinite, isSafeInteger: isSafe } = Number;
  const [number, big] = [Number, BigInt];
  const { slice, replace, trim } = String.prototype;
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
    if (typeof value === "number" && !isFinite(value)) return `the number ${value}`;
    if (value instanceof promise) return "a promise; nothing is awaited here";
    if (value instanceof map) return "a Map; use Object.fromEntries(…)";
    if (value instanceof set) return "a Set; use Array.from(…)";
    return undefined;
  };
  // JSON that a template wrote: it stays as it is written.
  class Written {
    constructor(text) {
      parse(text);
      this.text = text;
    }
  }
  // A BigInt as `json` writes it for a moment: a text, and no key.
  const marked = /(?<!\\)"\ufdd0(-?\d+)"(?!:)/g;
  // The text of a value as JSON, or an array with what it holds that JSON cannot.
  const json = (value) => {
    if (value instanceof Written) return value.text;
    let found;
    let large = false;
    const check = (key, inner) => {
      if (typeof inner === "bigint") {
        if (isSafe(number(inner))) return number(inner);
        large = true;
        return `\ufdd0${inner}`;
      }
      if (typeof inner === "string" && inner[0] === "\ufdd0") return `\ufffd${slice.call(inner, 1)}`;
      const what = problem(inner);
      if (what === undefined) return inner;
      found ??= key === "" ? what : `${what} (in \`${key}\`)`;
      throw found;
    };
    try {
      const text = stringify(value, check) ?? "null";
      return large ? replace.call(text, marked, "$1") : text;
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
  const whole = /^\s*[+-]?\d{16,}\s*$/;
  // A number without rounding it: of many digits a BigInt, which compares with numbers by value.
  const exact = (value) => {
    if (typeof value === "bigint") return value;
    return typeof value === "string" && whole.test(value)
      ? big(trim.call(value).replace(/^\+/, ""))
      : Number(value);
  };
  const isNumber = (value) => typeof value === "number" || typeof value === "bigint" || (typeof value === "string" && numeric.test(value));
  const isMissing = (value) => value === undefined || value === null;
  const order = {
    "===": (left, right) => left === right || (typeof left !== typeof right && left == right),
    "!==": (left, right) => !order["==="](left, right),
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
    const values = isNumber(left) && isNumber(right) ? [exact(left), exact(right)] : [asText(left), asText(right)];
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
      parse: (text) => new Written(text),
    },
  };
})
