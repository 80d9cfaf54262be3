import { readFileSync } from "node:fs";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/**
 * Builds `dist/report/report.html`: one file with the script and the style inside. `rehearse report` writes a run in
 * place of the `null` of the element `rehearsal-report`, and that is the report.
 */
export default defineConfig({
  plugins: [react(), oneFile()],
  publicDir: false,
  build: {
    target: "es2022",
    outDir: "dist/report",
    emptyOutDir: false,
    cssCodeSplit: false,
    modulePreload: false,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      input: "src/report.tsx",
      output: { format: "iife", entryFileNames: "report.js", assetFileNames: "report[extname]" },
    },
  },
});

/** Nothing may be fetched: what is not in the file is not shown. */
const POLICY =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

function oneFile(): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_, bundle) {
      let [script, style] = ["", ""];
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === "chunk") script += file.code;
        else if (name.endsWith(".css")) style += String(file.source);
        else this.error(`a report has no place for ${name}`);
        delete bundle[name];
      }
      // A browser ends an inline script at the first `</script`, and changes how it reads at `<!--`.
      script = script.replace(/<(?=\/script|!--)/gi, "\\x3c");
      if (/<\/style/i.test(style)) this.error("the style would end itself");
      const source = readFileSync("report.html", "utf8")
        .replace(
          "<title>",
          () => `<meta http-equiv="Content-Security-Policy" content="${POLICY}" />\n    <title>`,
        )
        .replace("</head>", () => `<style>${style}</style>\n  </head>`)
        .replace('<script type="module" src="/src/report.tsx"></script>', () => `<script>${script}</script>`);
      this.emitFile({ type: "asset", fileName: "report.html", source });
    },
  };
}
