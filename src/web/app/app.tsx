import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { type ReactNode, useSyncExternalStore } from "react";
import { onPageKey, pageKey } from "../data/page-key.ts";
import { cache } from "../data/reading.ts";
import { router } from "./router.tsx";
import { SignedOut, SignIn } from "./sign-in.tsx";

export function App(): ReactNode {
  const key = useSyncExternalStore(onPageKey, pageKey);
  if (location.pathname === "/sign-in") return <SignIn />;
  if (key === null) return <SignedOut />;
  return (
    <QueryClientProvider client={cache}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  );
}
