import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: here("docs"),
  base: "/docs/",
  resolve: { alias: { "@scalar/agent-chat": here("docs/absent.ts") } },
  build: {
    outDir: here("dist/docs"),
    emptyOutDir: true,
    target: "es2023",
    // A preload polyfill would be an inline script, which the page's policy refuses.
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 4096,
    reportCompressedSize: false,
    rolldownOptions: {
      // Dozens of one-line icon modules would each become a file.
      output: { codeSplitting: { groups: [{ name: "icons", test: /\.svg/ }] } },
    },
  },
});
