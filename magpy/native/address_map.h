// What a recording knows of an object, by its address: open addressing with linear probing, as in
// address_set.h. The objects outlive the map, so nothing is ever taken out of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace magpy {

class AddressMap {
public:
    AddressMap() { clear(); }

    // What was put there, or null.
    void *get(size_t address) const {
        size_t i = find(address);
        return entries[i].address == address ? entries[i].value : nullptr;
    }

    void put(size_t address, void *value) {
        size_t i = find(address);
        if (entries[i].address != address) {
            if (++used * 2 > entries.size()) {
                grow();
                i = find(address);
            }
            entries[i].address = address;
        }
        entries[i].value = value;
    }

    void clear() {
        used = 0;
        resize(FIRST_BITS);
    }

private:
    struct Entry {
        size_t address = 0;     // no object is at 0
        void *value = nullptr;
    };
    static constexpr int FIRST_BITS = 10;

    size_t find(size_t address) const {
        size_t i = (static_cast<uint64_t>(address) * 0x9E3779B97F4A7C15u) >> shift;
        while (entries[i].address != address && entries[i].address != 0) {
            i = (i + 1) & mask;
        }
        return i;
    }

    void resize(int bits) {
        entries.assign(size_t{1} << bits, Entry{});
        mask = entries.size() - 1;
        shift = 64 - bits;
    }

    void grow() {
        std::vector<Entry> old;
        old.swap(entries);
        resize(64 - shift + 1);
        for (const Entry &entry : old) {
            if (entry.address != 0) {
                entries[find(entry.address)] = entry;
            }
        }
    }

    std::vector<Entry> entries;
    size_t used = 0;
    size_t mask = 0;
    int shift = 0;
};

}  // namespace magpy
