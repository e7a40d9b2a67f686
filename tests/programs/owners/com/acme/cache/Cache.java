package com.acme.cache;

import java.util.HashMap;
import java.util.Map;

/** Keeps a thousand bytes for each key, in classes of the platform. */
public final class Cache {
    private final Map<String, byte[]> entries = new HashMap<>();

    public void fill(int count) {
        for (int i = 0; i < count; i++) entries.put("key " + i, new byte[1000]);
    }
}
