// A set of addresses: open addressing with linear probing. What the interpreter tells of every
// object that is made and destroyed must cost a few nanoseconds; std::unordered_set allocates a
// node for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace magpy {

class AddressSet {
public:
    AddressSet() { clear(); }

    bool contains(size_t address) const {
        return slots[find(address)] == address;
    }

    void insert(size_t address) {
        size_t i = find(address);
        if (slots[i] == address) {
            return;
        }
        slots[i] = address;
        if (++used * 2 > slots.size()) {
            grow();
        }
    }

    void erase(size_t address) {
        size_t hole = find(address);
        if (slots[hole] != address) {
            return;
        }
        --used;
        // Those behind it move up, as far as they may: no probe ends too early then.
        for (size_t i = next(hole); slots[i] != FREE; i = next(i)) {
            size_t distance = (i - home(slots[i])) & mask;
            if (distance >= ((i - hole) & mask)) {
                slots[hole] = slots[i];
                hole = i;
            }
        }
        slots[hole] = FREE;
    }

    // Empty again, and as small as at first.
    void clear() {
        used = 0;
        resize(FIRST_BITS);
    }

private:
    static constexpr size_t FREE = 0;       // no object is there
    static constexpr int FIRST_BITS = 15;

    size_t home(size_t address) const {
        return (static_cast<uint64_t>(address) * 0x9E3779B97F4A7C15u) >> shift;
    }

    size_t next(size_t i) const { return (i + 1) & mask; }

    // Where the address is, or the free slot where it belongs.
    size_t find(size_t address) const {
        size_t i = home(address);
        while (slots[i] != address && slots[i] != FREE) {
            i = next(i);
        }
        return i;
    }

    void resize(int bits) {
        slots.assign(size_t{1} << bits, FREE);
        slots.shrink_to_fit();
        mask = slots.size() - 1;
        shift = 64 - bits;
    }

    void grow() {
        std::vector<size_t> old;
        old.swap(slots);
        resize(64 - shift + 1);
        for (size_t address : old) {
            if (address != FREE) {
                slots[find(address)] = address;
            }
        }
    }

    std::vector<size_t> slots;
    size_t used = 0;
    size_t mask = 0;
    int shift = 0;
};

}  // namespace magpy
